# Makes an SPDX document of lines that etc/package/sbom.sh writes.

def id: "SPDXRef-" + (gsub("\\+"; "plus") | gsub("[^A-Za-z0-9.-]"; "-"));
def license_id: "LicenseRef-Debian-" + (gsub("\\+"; "plus") | gsub("[^A-Za-z0-9.-]"; "-"));
# base64 to hexadecimal.
def hex_digit: "0123456789abcdef"[.:. + 1];
def base64_values:
  explode | map(if . >= 97 then . - 71 elif . >= 65 then . - 65 elif . == 43 then 62 elif . == 47 then 63 else . + 4 end);
def hex_of_base64:
  rtrimstr("==") | base64_values | [range(0; length; 2) as $at |
    (.[$at] * 64 + (.[$at + 1] // 0)) | (. / 256 | floor), (. / 16 | floor % 16), (. % 16)] | map(hex_digit) | join("")[0:128];

def package:
  if .kind == "debian" then {
    SPDXID: ("debian-" + .name | id),
    name,
    versionInfo: .version,
    supplier: "Organization: Debian",
    downloadLocation: "NOASSERTION",
    filesAnalyzed: false,
    licenseConcluded: "NOASSERTION",
    licenseDeclared: (.source | license_id),
    copyrightText: "NOASSERTION",
    sourceInfo: "built by Debian of its source package \(.source) \(.source_version)",
    externalRefs: [{
      referenceCategory: "PACKAGE-MANAGER",
      referenceType: "purl",
      referenceLocator: "pkg:deb/debian/\(.name | gsub("\\+"; "%2B"))@\(.version | @uri)?arch=\(.arch)&distro=debian-12"
    }]
  } + (if .homepage == "" then {} else {homepage} end)
  elif .kind == "npm" then {
    SPDXID: ("npm-" + .name | id),
    name,
    versionInfo: .version,
    downloadLocation: "NOASSERTION",
    filesAnalyzed: false,
    checksums: [{algorithm: "SHA512", checksumValue: (.integrity | ltrimstr("sha512-") | hex_of_base64)}],
    licenseConcluded: "NOASSERTION",
    licenseDeclared: .license,
    copyrightText: "NOASSERTION",
    externalRefs: [{
      referenceCategory: "PACKAGE-MANAGER",
      referenceType: "purl",
      referenceLocator: "pkg:npm/\(.name)@\(.version)"
    }]
  }
  else {
    SPDXID: ("file-" + .name | id),
    name,
    packageFileName: .name,
    versionInfo: $version,
    supplier: "Organization: The Perennial maintainers",
    downloadLocation: "NOASSERTION",
    filesAnalyzed: false,
    checksums: [{algorithm: "SHA256", checksumValue: .sha256}],
    licenseConcluded: "NOASSERTION",
    licenseDeclared: "MIT",
    copyrightText: "NOASSERTION"
  } end;

def relation($from; $kind; $to): {spdxElementId: $from, relationshipType: $kind, relatedSpdxElement: $to};

[inputs] as $components
| ($components | map(select(.kind == "artifact") + {id: ("file-" + .name | id)})) as $artifacts
| ($artifacts | map(select(.name | contains("-oci-"))) | .[0].id) as $image
| ($artifacts | map(select(.name | contains("-linux-"))) | .[0].id) as $portable
| ($artifacts | map(select(.name == "perennial-\($version).tar.gz")) | .[0].id) as $sources
| {
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    SPDXID: "SPDXRef-DOCUMENT",
    name: "perennial-\($version)",
    documentNamespace: "https://perennial.invalid/spdx/perennial-\($version)-\($commit)",
    creationInfo: {created: $time, creators: ["Tool: etc/release"], comment: "Of the commit \($commit)."},
    packages: ([{
      SPDXID: "SPDXRef-perennial",
      name: "perennial",
      versionInfo: $version,
      supplier: "Organization: The Perennial maintainers",
      downloadLocation: "NOASSERTION",
      filesAnalyzed: false,
      licenseConcluded: "MIT",
      licenseDeclared: "MIT",
      copyrightText: "Copyright 2026 The Perennial maintainers",
      primaryPackagePurpose: "APPLICATION",
      comment: "The programs, whose sources are perennial-\($version).tar.gz, and which the other files have."
    }] + ($components | map(package))),
    hasExtractedLicensingInfos: ($components | map(select(.kind == "debian")) | unique_by(.source) | map({
      licenseId: (.source | license_id),
      name: "What Debian's source package \(.source) says of its licenses",
      extractedText: .copyright
    })),
    relationships: (
      ($artifacts | map(relation("SPDXRef-DOCUMENT"; "DESCRIBES"; .id)))
      + [relation("SPDXRef-perennial"; "GENERATED_FROM"; $sources)]
      + ($artifacts | map(select(.id != $sources) | relation(.id; "CONTAINS"; "SPDXRef-perennial")))
      + ($components | map(select(.kind == "npm") | relation("SPDXRef-perennial"; "CONTAINS"; ("npm-" + .name | id))))
      + ($components | map(select(.kind == "debian") | . + {id: ("debian-" + .name | id)} |
          (if .linked then relation("SPDXRef-perennial"; "DYNAMIC_LINK"; .id) else empty end),
          (if .headers then relation("SPDXRef-perennial"; "STATIC_LINK"; .id) else empty end),
          (if .bundled then relation($portable; "CONTAINS"; .id) else empty end),
          (if .image then relation($image; "CONTAINS"; .id) else empty end)))
    )
  }
