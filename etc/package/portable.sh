# Sourced by etc/release: the archive for distributions that are not Debian 12. Not a program.
#
# The programs are those of the Debian package. They find their libraries, which are Debian's, unchanged, in a folder beside
# them (DT_RPATH, which holds for the libraries of libraries, too). Linked statically each of the three programs would have a
# RocksDB and a gRPC of its own, and what Debian has no static library of (libsystemd, Kerberos below curl) would still be
# missing.

# make_portable FILE
make_portable() {
  portable=$work/perennial-$version-linux-$arch
  local share=$portable/share
  mkdir -p "$portable/bin" "$portable/lib" "$share"
  cp -a "$work/installed/usr/bin/." "$portable/bin/"
  for program in perenniald perennial perennial-bench; do
    # shellcheck disable=SC2016 # The dollar is the loader's.
    patchelf --force-rpath --set-rpath '$ORIGIN/../lib/perennial' "$portable/bin/$program"
  done
  copy_libraries "$portable/lib/perennial" bundled
  mkdir -p "$portable/lib/systemd/system"
  for unit in "$work/installed/lib/systemd/system/"*; do
    sed 's|/usr/bin/perennial|/usr/local/bin/perennial|; s|/usr/share/|/usr/local/share/|' "$unit" >"$portable/lib/systemd/system/${unit##*/}"
  done
  cp -a "$work/installed/etc" "$portable/"
  cp -a "$work/installed/usr/share/." "$share/"
  rm -rf "$share/lintian"
  # shellcheck disable=SC2046 # They are words.
  copy_licenses "$share/doc/perennial/licenses" $(bundled_packages)
  portable_readme >"$portable/README"
  pack "$work" "${portable##*/}" | gzip -9n >"$1"
}

portable_readme() {
  local glibc libstdcxx
  glibc=$(newest_version GLIBC "$portable")
  libstdcxx=$(newest_version GLIBCXX "$portable")
  cat <<EOF
Perennial $version for Linux on $arch

It needs glibc ${glibc#GLIBC_} or newer, and libstdc++ with $libstdcxx or newer (and libgcc_s, which
comes with it). All other libraries are in lib/perennial. They are those of Debian 12, and a new
release brings new ones. See what your system has:

  ldd --version | head -n 1
  grep -ao 'GLIBCXX_[0-9.]*' "\$(ldconfig -p | sed -n 's/.*libstdc++\\.so\\.6.*=> //p' | head -n 1)" | sort -uV | tail -n 1

Try it where it is:

  bin/perenniald --data-dir /tmp/perennial-data &
  bin/perennial put 'a letter'

Install it, as root:

  cp -r bin lib share /usr/local/
  useradd --system --home-dir /var/lib/perennial --shell /usr/sbin/nologin perennial
  mkdir /etc/perennial && cp etc/perennial/perennial.yaml /etc/perennial/
  cp lib/systemd/system/* /etc/systemd/system/ && systemctl daemon-reload
  systemctl enable --now perenniald

An upgrade is the same copy, and systemctl restart perenniald.
share/doc/perennial/etc/docs/operations.md says what to do before one.

With --tls and no --ca the tool trusts the certificates of the system, and looks for them where
Debian has them. Elsewhere name them: SSL_CERT_FILE=/etc/pki/tls/certs/ca-bundle.crt

Read on in share/doc/perennial/README.md. The licenses of the libraries are in
share/doc/perennial/licenses. Their sources are Debian's, of the versions that the SBOM
(perennial-$version.spdx.json) lists.
EOF
}
