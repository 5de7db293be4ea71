# What an installation holds, and the Debian package made of it: etc/package.sh. The package is for a
# machine with systemd, and works without.
include(GNUInstallDirs)
set(PERENNIAL_UNIT_DIR /lib/systemd/system CACHE PATH "Where systemd looks for units")
set(PERENNIAL_MAINTAINER "The Perennial maintainers <maintainers@perennial.invalid>" CACHE STRING
  "Who answers for the package")
set(PERENNIAL_REVISION 1 CACHE STRING "The package's revision of this version")
set(package_dir ${CMAKE_CURRENT_LIST_DIR})
set(made_dir ${CMAKE_BINARY_DIR}/package)

# The default settings, but for two: where a system keeps such data, and an address that nobody outside
# the machine reaches, because there is no password.
file(READ ${CMAKE_SOURCE_DIR}/etc/perennial.yaml settings)
function(change_setting before after)
  string(FIND "${settings}" "\n${before}\n" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "etc/perennial.yaml has no line '${before}': mend etc/package/package.cmake")
  endif()
  string(REPLACE "\n${before}\n" "\n${after}\n" changed "${settings}")
  set(settings "${changed}" PARENT_SCOPE)
endfunction()
change_setting("data_dir: perennial-data" "data_dir: /var/lib/perennial")
change_setting("listen: []" "# As installed: this machine only, because there is no password.\nlisten: [127.0.0.1]")
file(CONFIGURE OUTPUT ${made_dir}/perennial.yaml CONTENT "${settings}" @ONLY)

# The changelog of the package in Debian's form; what changed is in the one of the project.
string(TIMESTAMP PERENNIAL_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(${package_dir}/changelog.in ${made_dir}/changelog.Debian @ONLY)
configure_file(${CMAKE_SOURCE_DIR}/etc/CHANGES.md ${made_dir}/changelog COPYONLY)
configure_file(${CMAKE_SOURCE_DIR}/etc/man/perenniald.8 ${made_dir}/perenniald.8 @ONLY)

# The pages of the manual and the completions that are made, and not written: one second.
set(documents_dir ${CMAKE_BINARY_DIR}/documents)
add_custom_command(OUTPUT ${documents_dir}/made
  COMMAND ${package_dir}/documents.sh $<TARGET_FILE:perennial> ${documents_dir}
  COMMAND ${CMAKE_COMMAND} -E touch ${documents_dir}/made
  DEPENDS perennial ${package_dir}/documents.sh ${package_dir}/settings_page.awk ${CMAKE_SOURCE_DIR}/etc/perennial.yaml
  COMMENT "The manual and the completions" VERBATIM)
add_custom_target(perennial_manual ALL DEPENDS ${documents_dir}/made)

install(TARGETS perenniald perennial perennial-bench RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(PROGRAMS ${CMAKE_SOURCE_DIR}/cmd/perennial-bench/perennial-bench-plot
  DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${made_dir}/perennial.yaml DESTINATION ${CMAKE_INSTALL_FULL_SYSCONFDIR}/perennial)
install(FILES ${CMAKE_SOURCE_DIR}/etc/perenniald.service ${CMAKE_SOURCE_DIR}/etc/perenniald.socket
  ${CMAKE_SOURCE_DIR}/etc/perennial-work@.service DESTINATION ${PERENNIAL_UNIT_DIR})
install(FILES ${made_dir}/perenniald.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
foreach(section 1 5)
  install(DIRECTORY ${documents_dir}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section}
    FILES_MATCHING PATTERN "*.${section}")
endforeach()
install(FILES ${documents_dir}/completions/perennial.bash
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME perennial)
install(FILES ${documents_dir}/completions/_perennial
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${documents_dir}/completions/perennial.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES ${package_dir}/work.env DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
# Empty: each worker has a file there.
install(DIRECTORY DESTINATION ${CMAKE_INSTALL_FULL_SYSCONFDIR}/perennial/work)
# For Prometheus and Grafana, which may be on another machine.
install(FILES ${CMAKE_SOURCE_DIR}/etc/prometheus/perennial.rules.yml
  DESTINATION ${CMAKE_INSTALL_DATADIR}/perennial/prometheus)
install(FILES ${CMAKE_SOURCE_DIR}/etc/grafana/perennial.json
  DESTINATION ${CMAKE_INSTALL_DATADIR}/perennial/grafana)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${package_dir}/copyright
  ${made_dir}/changelog ${made_dir}/changelog.Debian DESTINATION ${CMAKE_INSTALL_DOCDIR})
# Where README.md links to them.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/etc/docs DESTINATION ${CMAKE_INSTALL_DOCDIR}/etc
  FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png")
# The programs that their pages show.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/etc/docs/quickstart ${CMAKE_SOURCE_DIR}/etc/docs/moving
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/etc/docs
  FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
# What the pages for users and operators link to. Links from the pages for those who read the code lead somewhere in the sources only.
install(FILES ${CMAKE_SOURCE_DIR}/etc/CHANGES.md ${CMAKE_SOURCE_DIR}/etc/perennial.yaml ${CMAKE_SOURCE_DIR}/etc/bench-budgets.yaml
  ${CMAKE_SOURCE_DIR}/etc/perenniald.service ${CMAKE_SOURCE_DIR}/etc/perenniald.socket ${CMAKE_SOURCE_DIR}/etc/perennial-work@.service
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/etc)
install(FILES ${CMAKE_SOURCE_DIR}/etc/helm/perennial/values.yaml DESTINATION ${CMAKE_INSTALL_DOCDIR}/etc/helm/perennial)
install(FILES ${package_dir}/work.env DESTINATION ${CMAKE_INSTALL_DOCDIR}/etc/package)
install(FILES ${package_dir}/lintian-overrides
  DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME perennial)
# Without a time in them, so that the same sources give the same package.
install(CODE "
  file(GLOB texts \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man*/perennial*.[158]\"
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}/changelog*\")
  list(FILTER texts EXCLUDE REGEX \"[.]gz$\")
  execute_process(COMMAND gzip -9nf \${texts} COMMAND_ERROR_IS_FATAL ANY)")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME perennial)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "${PERENNIAL_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${PERENNIAL_REVISION})
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "work queue for services that cannot lose work
Perennial is a work queue that speaks the protocol of beanstalkd, so that its
clients work unmodified, and keeps every job in RocksDB. It answers a client
only after the disk has the job: what it has acknowledged outlives crashes and
power cuts. A start is fast, memory does not follow the size of the jobs, and
a damaged data directory is refused and never guessed at.
.
The server is perenniald; perennial is the tool of its operators, and
perennial-bench compares the speed of servers.")
set(CPACK_DEBIAN_PACKAGE_DEPENDS "adduser, tzdata")
set(CPACK_DEBIAN_PACKAGE_PREDEPENDS "init-system-helpers (>= 1.54~)")
# Only for drawing what a benchmark found.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "gnuplot-nox | gnuplot, jq")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${package_dir}/conffiles ${package_dir}/postinst ${package_dir}/prerm ${package_dir}/postrm)
include(CPack)
