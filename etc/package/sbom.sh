# Sourced by etc/release: the bill of materials, SPDX 2.3 as JSON. Not a program.
#
# It is made of what the build has used: the libraries that the programs load, the packages whose headers the compiler has
# read, and the console's lock. Licenses are what Debian says in the copyright file of each package, word for word: its short
# names are not all SPDX's.

# make_sbom FILE ARTIFACT...
make_sbom() {
  local file=$1
  shift
  {
    debian_components
    npm_components
    artifacts "$@"
  } >"$work/components"
  jq -n --arg version "$version" --arg commit "$commit" --arg time "$(release_time)" -f "$root/etc/package/sbom.jq" \
    "$work/components" >"$file"
}

# Packages whose headers or static libraries became a part of the programs.
header_packages() {
  ninja -C "$root/build-package" -t deps | sed -n 's|^ *\(/usr/.*\)|\1|p' | sort -u | xargs -d '\n' realpath | sort -u >"$work/headers"
  xargs -d '\n' dpkg-query -S <"$work/headers" | sed 's/[,:].*//' | sort -u
  echo libarchive-dev
}

# A line of JSON for each package of Debian, and what it is to the release.
debian_components() {
  header_packages >"$work/header_packages"
  image_packages >"$work/image_packages"
  bundled_packages >"$work/bundled_packages"
  local package
  sort -u "$work/header_packages" "$work/image_packages" "$work/library_packages" | while read -r package; do
    # shellcheck disable=SC2016 # The dollars are dpkg's.
    dpkg-query --show --showformat '${Package}\t${Version}\t${source:Package}\t${source:Version}\t${Architecture}\t${Homepage}\n' "$package" |
      jq -Rc --rawfile copyright "/usr/share/doc/$package/copyright" \
        --argjson linked "$(is_in "$package" library_packages)" --argjson headers "$(is_in "$package" header_packages)" \
        --argjson bundled "$(is_in "$package" bundled_packages)" --argjson image "$(is_in "$package" image_packages)" \
        'split("\t") | {kind: "debian", name: .[0], version: .[1], source: .[2], source_version: .[3], arch: .[4], homepage: .[5],
          copyright: $copyright, linked: $linked, headers: $headers, bundled: $bundled, image: $image}'
  done
}

# is_in PACKAGE LIST
is_in() {
  if grep -qx -- "$1" "$work/$2"; then echo true; else echo false; fi
}

# What is bundled into the console's page.
npm_components() {
  jq -c '.packages | to_entries[] | select(.key != "") | .value + {kind: "npm", name: (.key | sub("^node_modules/"; ""))}' \
    "$root/cmd/perenniald/console/package-lock.json"
}

artifacts() {
  local path
  for path in "$@"; do
    jq -nc --arg name "${path##*/}" --arg hash "$(sha256_of "$path")" '{kind: "artifact", name: $name, sha256: $hash}'
  done
}
