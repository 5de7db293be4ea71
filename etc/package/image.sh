# Sourced by etc/release: the image of a container, as a file. Not a program.
#
# The image has what the programs need and nothing else: their libraries, certificates, time zones, descriptions of terminals. No shell,
# no package manager, nothing to update but the whole. The archive is an OCI image layout, and has beside it the manifest.json
# by which `docker load` of any version knows an image. It is written here, and not by an engine: so it needs neither root nor
# user namespaces, has a health check (which engines leave out of OCI images, and read where it is there), and has the same
# bytes whatever engine is installed.

image_uid=11300

# make_image FILE
make_image() {
  local layout=$work/layout system programs
  rm -rf "$layout"
  mkdir -p "$layout/blobs/sha256"
  make_system_layer "$work/image-system"
  make_programs_layer "$work/image-programs"
  pack "$work/image-system" . >"$work/system.tar"
  pack "$work/image-programs" . --exclude ./var/lib/perennial >"$work/programs.tar"
  # The directory belongs to gid 0, too, as OpenShift's arbitrary uids do. A new volume takes this over.
  tar -C "$work/image-programs" --append --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --numeric-owner --owner="$image_uid" --group=0 \
    --file "$work/programs.tar" ./var/lib/perennial
  system=$(add_layer "$work/system.tar")
  programs=$(add_layer "$work/programs.tar")
  image_config "sha256:$(sha256_of "$work/system.tar")" "sha256:$(sha256_of "$work/programs.tar")" >"$work/config"
  write_manifests "$layout" "$system" "$programs" "$(add_blob "$work/config" application/vnd.oci.image.config.v1+json)"
  tar -C "$layout" --create --format=gnu --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    --file "$1" oci-layout index.json manifest.json blobs
}

# What changes seldom: the libraries, and the files that they read.
make_system_layer() {
  local folder=$1 libraries interpreter
  mkdir -p "$folder"/{etc/ssl/certs,usr/lib/ssl,usr/lib/locale,usr/lib64,usr/share/doc,tmp,proc,sys,dev,run,var/lib/dpkg/status.d}
  ln -s usr/lib "$folder/lib"
  ln -s usr/lib64 "$folder/lib64"
  chmod 1777 "$folder/tmp"
  libraries=$folder/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
  copy_libraries "$libraries" system
  interpreter=$(readelf --program-headers "$work/installed/usr/bin/perenniald" | sed -n 's/.*program interpreter: \(.*\)]/\1/p')
  install -m 755 "$interpreter" "$folder$interpreter"
  copy_libraries "$libraries" bundled
  # All of Debian's, and none that this machine trusts besides.
  dpkg-query -L ca-certificates | grep '^/usr/share/ca-certificates/.*\.crt$' | sort | xargs cat >"$folder/etc/ssl/certs/ca-certificates.crt"
  ln -s /etc/ssl/certs/ca-certificates.crt "$folder/usr/lib/ssl/cert.pem"
  cp -rL /usr/lib/locale/C.utf8 "$folder/usr/lib/locale/"
  cp -rL /lib/terminfo "$folder/usr/lib/"
  copy_zones "$folder/usr/share/zoneinfo"
  cp -L /etc/os-release "$folder/usr/lib/os-release"
  ln -s ../usr/lib/os-release "$folder/etc/os-release"
  echo 'hosts: files dns' >"$folder/etc/nsswitch.conf"
  printf '%s\n' 'root:x:0:0:root:/:/nologin' "perennial:x:$image_uid:$image_uid:Perennial:/var/lib/perennial:/nologin" \
    'nobody:x:65534:65534:nobody:/nonexistent:/nologin' >"$folder/etc/passwd"
  printf '%s\n' 'root:x:0:' "perennial:x:$image_uid:" 'nogroup:x:65534:' >"$folder/etc/group"
  find "$folder" -type d -exec chmod u=rwx,go=rx {} + && chmod 1777 "$folder/tmp"
  # By these, scanners for known vulnerabilities see what the image has.
  while read -r package; do
    dpkg-query --status "$package" >"$folder/var/lib/dpkg/status.d/$package"
    copy_licenses "$folder/usr/share/doc" "$package"
  done < <(image_packages)
}

# The time zones of schedules. Debian has them in three forms, and has a link to those of the machine; the image has the plain form.
copy_zones() {
  mkdir -p "$1"
  tar -C /usr/share/zoneinfo --create --exclude=./posix --exclude=./right --exclude=./localtime . | tar -C "$1" --extract
}

# Packages of which the image has something.
image_packages() {
  sort -u "$work/library_packages" - <<<"$(printf '%s\n' base-files ca-certificates libc-bin ncurses-base tzdata)"
}

make_programs_layer() {
  local folder=$1
  mkdir -p "$folder/usr/bin" "$folder/usr/share/doc/perennial" "$folder/var/lib"
  install -m 755 "$work/installed/usr/bin"/{perenniald,perennial,perennial-bench} "$folder/usr/bin/"
  install -m 644 "$root/LICENSE" "$folder/usr/share/doc/perennial/copyright"
  install -m 644 "$root/etc/perennial.yaml" "$folder/usr/share/doc/perennial/perennial.yaml"
  mkdir -m 770 "$folder/var/lib/perennial"
}

sha256_of() {
  sha256sum "$1" | cut -d ' ' -f 1
}

# add_blob FILE MEDIA_TYPE: moves the file into the layout, and prints its descriptor.
add_blob() {
  local hash bytes
  hash=$(sha256_of "$1")
  bytes=$(stat -c %s "$1")
  mv "$1" "$work/layout/blobs/sha256/$hash"
  jq -nc --arg type "$2" --arg digest "sha256:$hash" --argjson size "$bytes" '{mediaType: $type, digest: $digest, size: $size}'
}

# add_layer TAR
add_layer() {
  gzip -9n <"$1" >"$1.gz"
  add_blob "$1.gz" application/vnd.oci.image.layer.v1.tar+gzip
}

release_time() {
  date --utc --date="@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ
}

# image_config DIFF_ID...: how the image is run. Times are in nanoseconds. A start that recovers much answers late, and is not
# to be called unhealthy for it.
image_config() {
  jq -nc --arg arch "$arch" --arg version "$version" --arg commit "$commit" --arg time "$(release_time)" --arg user "$image_uid" \
    '{
      created: $time,
      architecture: $arch,
      os: "linux",
      config: {
        User: "\($user):\($user)",
        ExposedPorts: {"11300/tcp": {}, "11400/tcp": {}},
        Env: ["PATH=/usr/bin", "LANG=C.UTF-8"],
        Entrypoint: ["perenniald", "--data-dir", "/var/lib/perennial"],
        Volumes: {"/var/lib/perennial": {}},
        WorkingDir: "/var/lib/perennial",
        StopSignal: "SIGTERM",
        Healthcheck: {
          Test: ["CMD", "perennial", "health"],
          Interval: 10000000000, Timeout: 5000000000, StartPeriod: 600000000000, Retries: 3
        },
        Labels: {
          "org.opencontainers.image.title": "Perennial",
          "org.opencontainers.image.description": "Work queue for services that cannot lose work",
          "org.opencontainers.image.version": $version,
          "org.opencontainers.image.revision": $commit,
          "org.opencontainers.image.created": $time,
          "org.opencontainers.image.licenses": "MIT"
        }
      },
      rootfs: {type: "layers", diff_ids: $ARGS.positional},
      history: [
        {created: $time, created_by: "etc/package/image.sh", comment: "libraries"},
        {created: $time, created_by: "etc/package/image.sh", comment: "programs"}
      ]
    }' --args "$@"
}

# write_manifests LAYOUT LAYER LAYER CONFIG, the last three of which are descriptors.
write_manifests() {
  local layout=$1 manifest path='"blobs/" + (.digest | sub(":"; "/"))'
  jq -nc --argjson config "$4" --argjson layers "[$2, $3]" \
    '{schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json", config: $config, layers: $layers}' >"$work/manifest"
  manifest=$(add_blob "$work/manifest" application/vnd.oci.image.manifest.v1+json)
  jq -nc --argjson manifest "$manifest" --arg arch "$arch" --arg version "$version" \
    '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: [$manifest + {
        platform: {architecture: $arch, os: "linux"},
        annotations: {"io.containerd.image.name": "docker.io/library/perennial:\($version)", "org.opencontainers.image.ref.name": $version}
      }]}' >"$layout/index.json"
  jq -nc --argjson config "$4" --argjson layers "[$2, $3]" --arg version "$version" \
    "[{Config: (\$config | $path), RepoTags: [\"perennial:\\(\$version)\"], Layers: [\$layers[] | $path]}]" >"$layout/manifest.json"
  echo '{"imageLayoutVersion":"1.0.0"}' >"$layout/oci-layout"
}
