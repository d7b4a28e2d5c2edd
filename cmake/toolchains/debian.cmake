# For another processor, by Debian's cross compiler: ULP_TRIPLE is what that is called (s390x-linux-gnu), ULP_SYSROOT a folder
# with the libraries of that processor. `release-check aarch64` and `release-check s390x` make such a folder.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ULP_TRIPLE ULP_SYSROOT)
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR ${ULP_TRIPLE})
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${ULP_TRIPLE}-gcc)
set(CMAKE_CXX_COMPILER ${ULP_TRIPLE}-g++)
set(CMAKE_LIBRARY_ARCHITECTURE ${ULP_TRIPLE})
set(CMAKE_SYSROOT ${ULP_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(what IN ITEMS LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${what} ONLY)
endforeach()
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${ULP_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${ULP_SYSROOT}/usr/lib/${ULP_TRIPLE}/pkgconfig:${ULP_SYSROOT}/usr/share/pkgconfig)
# Its loader, named: with -L, the root folder that tests see would be that of ULP_SYSROOT.
file(GLOB loader ${ULP_SYSROOT}/lib/ld*.so.1)
set(CMAKE_CROSSCOMPILING_EMULATOR
  qemu-${CMAKE_SYSTEM_PROCESSOR}-static ${loader} --library-path ${ULP_SYSROOT}/usr/lib/${ULP_TRIPLE}:${ULP_SYSROOT}/lib/${ULP_TRIPLE})
