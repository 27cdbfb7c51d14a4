# A backend is one folder with one call of this:
#   holdfast_add_backend(sqlite SOURCES src/... LIBRARIES SQLite::SQLite3 FIND SQLite3 PKGCONFIG sqlite3)
# HEADERS: public ones, below include/. FIND and PKGCONFIG: the packages whose targets LIBRARIES names, for users of a static build. LINK: those without either.
# It defines holdfast::<name>, a library that the core opens on demand when it is shared, and that registers itself
# when it is linked. src/register.cpp must define `extern "C" void holdfast_backend_<name>()`.
function(holdfast_add_backend name)
  cmake_parse_arguments(arg "" "" "SOURCES;HEADERS;LIBRARIES;FIND;PKGCONFIG;LINK" ${ARGN})
  holdfast_add_library(holdfast_${name} ALIAS ${name} SOURCES ${arg_SOURCES})
  target_link_libraries(holdfast_${name} PUBLIC holdfast PRIVATE ${arg_LIBRARIES} ${arg_LINK})
  target_include_directories(holdfast_${name} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/src")
  if(arg_HEADERS)
    target_sources(holdfast_${name} PUBLIC FILE_SET headers TYPE HEADERS BASE_DIRS include FILES ${arg_HEADERS})
  endif()
  # From a static archive the linker takes only what is asked for: ask for the registration.
  get_target_property(type holdfast_${name} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    target_link_options(holdfast_${name} INTERFACE "LINKER:--undefined=holdfast_backend_${name}")
  endif()
  set_target_properties(holdfast_${name} PROPERTIES
    HOLDFAST_FIND_PACKAGES "${arg_FIND}" HOLDFAST_PKGCONFIG_MODULES "${arg_PKGCONFIG}"
    HOLDFAST_LINK_NAMES "${arg_LINK}")
  set_property(GLOBAL APPEND PROPERTY HOLDFAST_BACKENDS ${name})
endfunction()
