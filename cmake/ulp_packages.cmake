# Debian packages, one for each component of the installation, made by cpack. scripts/package calls it: the maintainer's name, the
# release of Debian and the time of the commit come from there.
set(ULP_MAINTAINER "" CACHE STRING "Name and address of who makes the packages: \"A Name <name@host>\"")
set(ULP_DEBIAN_RELEASE "" CACHE STRING "The release of Debian that the packages are for: 12")
set(documents ${CMAKE_INSTALL_DATADIR}/doc)
set(made ${PROJECT_BINARY_DIR}/debian)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ulpscope)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGE_VENDOR "The ulpscope developers")
set(CPACK_PACKAGE_CONTACT "${ULP_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SOURCE ulpscope)
set(CPACK_DEBIAN_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_DEBIAN_PACKAGE_RELEASE "1~deb${ULP_DEBIAN_RELEASE}")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(version "${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")

# ulp_package(NAME COMPONENT DESCRIPTION [FIELD value]...): fields of Debian's control file, as cpack names them. A description is
# one line, then paragraphs.
function(ulp_package name component description)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${description}" PARENT_SCOPE)
  while(ARGN)
    list(POP_FRONT ARGN field value)
    set(CPACK_DEBIAN_${upper}_PACKAGE_${field} "${value}" PARENT_SCOPE)
  endwhile()
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} PARENT_SCOPE)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/debian/copyright ${made}/changelog.gz ${made}/changelog.Debian.gz
    DESTINATION ${documents}/${name} COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

set(CPACK_COMPONENTS_ALL "")
ulp_package(ulp ulp
"what 16 bits do to the gradients of a training run
ulp tells from recorded gradients which values underflow or overflow in a
number format, what another loss scaler or FP8 recipe would have done, and
what low-precision weights, sums and optimizer states lose. It generates and
checks test vectors of small floating-point formats."
  SHLIBDEPS ON RECOMMENDS "man-db" SUGGESTS "ulpscope, python3-ulpscope, bash-completion")
install(FILES ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${documents}/ulp COMPONENT ulp EXCLUDE_FROM_ALL)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${documents}/ulp COMPONENT ulp EXCLUDE_FROM_ALL)
ulp_package(ulpscope ulpscope
"viewer of the gradients of a training run
ulpscope shows whether the gradients of a mixed-precision training run leave
the range of a number format, when, and in which layers; and what another
format, loss scale or policy would have done, step by step."
  SHLIBDEPS ON DEPENDS "ulp (= ${version})")
ulp_package(libulp-dev dev
"exact arithmetic of small floating-point formats, and more
Static libraries and headers: number formats with IEEE flags and all
roundings, in C++ and C; loss scalers, readers of recordings and dumps, and
what the program ulp answers. CMake finds them as ulpscope."
  SECTION libdevel
  DEPENDS "libboost-dev, libfmt-dev, libre2-dev, libsqlite3-dev, libssl-dev, libtbb-dev, libyaml-cpp-dev, nlohmann-json3-dev, zlib1g-dev")
if(TARGET ulp-mpi)
  ulp_package(ulp-mpi ulp-mpi
"ulp record under mpirun
With this beside it, ulp joins the processes that a launcher of MPI started:
each records the gradients of its rank, and the recordings become one."
    SHLIBDEPS ON DEPENDS "ulp (= ${version})" SUGGESTS "openmpi-bin")
  install(FILES ${made}/ulp-mpi.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT ulp-mpi EXCLUDE_FROM_ALL)
endif()
# Its modules are of this Python, and of no later one.
math(EXPR next "${Python_VERSION_MINOR} + 1")
ulp_package(python3-ulpscope python
"records training jobs, and what 16 bits do to their gradients
The Python package ulpscope records the gradients of training jobs, rounds
arrays to small floating-point formats exactly, and answers the same questions
as the program ulp."
  SHLIBDEPS ON SECTION python
  DEPENDS "python3 (>= 3.${Python_VERSION_MINOR}), python3 (<< 3.${next}), python3-numpy" SUGGESTS "python3-torch")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/debian/postinst ${PROJECT_SOURCE_DIR}/cmake/debian/prerm)

# Its one entry leads to what all changes are in.
file(MAKE_DIRECTORY ${made})
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(CONFIGURE OUTPUT ${made}/changelog.Debian @ONLY CONTENT
"ulpscope (@version@) unstable; urgency=medium

  * Version @PROJECT_VERSION@, built for Debian @ULP_DEBIAN_RELEASE@: changelog.gz has its changes.

 -- @ULP_MAINTAINER@  @now@
")
configure_file(CHANGELOG.md ${made}/changelog COPYONLY)
file(WRITE ${made}/ulp-mpi.1 ".so man1/ulp.1\n")  # it is the same program
execute_process(COMMAND gzip --best --no-name --force --keep changelog changelog.Debian ulp-mpi.1
  WORKING_DIRECTORY ${made} COMMAND_ERROR_IS_FATAL ANY)
include(CPack)
