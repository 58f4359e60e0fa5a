# find_package(Trilith) gives the target Trilith::trilith, by way of the file for pkg-config that is installed with it.
include(CMakeFindDependencyMacro)
find_dependency(PkgConfig)
pkg_check_modules(TRILITH REQUIRED IMPORTED_TARGET GLOBAL trilith)
if(NOT TARGET Trilith::trilith)
  add_library(Trilith::trilith ALIAS PkgConfig::TRILITH)
endif()
set(Trilith_VERSION "${TRILITH_VERSION}")
