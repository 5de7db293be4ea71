# Sourced by etc/release: the shared libraries of the programs, and the packages of Debian that they come from. Not a
# program. Its user sets `work`, a folder for what is made on the way.

# What every system has, and what a program must take from there: the C library cannot be had twice in one process, and
# libstdc++ must be as new as the newest that anything in the process asks for.
system_packages=(libc6 libstdc++6 libgcc-s1)

# owner_of FILE: the package of Debian that the file is from. dpkg knows some by their name before /usr was merged.
owner_of() {
  local path owners
  path=$(readlink -f "$1")
  owners=$(dpkg-query -S "$path" 2>/dev/null || dpkg-query -S "${path#/usr}" 2>/dev/null) || {
    echo "etc/release: $path is of no package of Debian, so nobody could say what is in it" >&2
    return 1
  }
  owners=${owners%%:*}
  echo "${owners%%,*}"
}

# find_libraries PROGRAM...: writes $work/libraries, a line for each library that the programs load: the name by which they
# do, the file, and its package.
find_libraries() {
  local name path package
  ldd "$@" >"$work/ldd"
  if grep 'not found' "$work/ldd" >&2; then return 1; fi
  awk '$2 == "=>" { print $1, $3 }' "$work/ldd" | sort -u |
    while read -r name path; do
      package=$(owner_of "$path")
      echo "$name $(readlink -f "$path") $package"
    done >"$work/libraries"
  cut -d ' ' -f 3 "$work/libraries" | sort -u >"$work/library_packages"
  expect_unchanged
}

# What is bundled is what Debian has signed, and not what somebody has put in its place.
expect_unchanged() {
  local changed
  # shellcheck disable=SC2046 # They are words.
  changed=$(dpkg --verify $(cat "$work/library_packages") | awk '{ print $NF }' |
    grep -xFf <(cut -d ' ' -f 2 "$work/libraries" | sed 's/.*/&\n&/; s/\n\/usr/\n/') || true)
  [[ -z $changed ]] && return
  echo "etc/release: these are not as their package has them: $changed" >&2
  return 1
}

is_of_system() {
  [[ " ${system_packages[*]} " == *" $1 "* ]]
}

# copy_libraries FOLDER bundled|system: the libraries of the one kind, as Debian has them.
copy_libraries() {
  local folder=$1 kind=$2 name path package
  mkdir -p "$folder"
  while read -r name path package; do
    if is_of_system "$package"; then
      [[ $kind == bundled ]] || install -m 644 "$path" "$folder/$name"
    elif [[ $kind == bundled ]]; then
      install -m 644 "$path" "$folder/$name"
    fi
  done <"$work/libraries"
}

# copy_licenses FOLDER PACKAGE...: what Debian says about their authors and licenses.
copy_licenses() {
  local folder=$1 package
  shift
  mkdir -p "$folder"
  for package in "$@"; do install -m 644 "/usr/share/doc/$package/copyright" "$folder/$package"; done
}

bundled_packages() {
  grep -vxFf <(printf '%s\n' "${system_packages[@]}") "$work/library_packages"
}

# newest_version PREFIX FOLDER: the newest symbol version, such as GLIBC_2.34, that a program or library below the folder
# needs. The loader refuses to start the program where the system's library has an older one.
newest_version() {
  local files
  mapfile -t files < <(grep -rlaP '\A\x7fELF' "$2")
  readelf --wide --version-info "${files[@]}" | grep -oE "\\b$1_[0-9]+(\\.[0-9]+)+" | sort -uV | tail -n 1
}
