# What `cmake --install` puts where, in three components (runtime, development, command), the CMake package, one .pc per
# library, and with cpack a .deb per component.

include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/holdfast")
get_property(libraries GLOBAL PROPERTY HOLDFAST_LIBRARIES)
get_property(backends GLOBAL PROPERTY HOLDFAST_BACKENDS)

# One export file per library: who asks for one backend needs the client library of that backend only.
foreach(library IN LISTS libraries)
  get_target_property(component ${library} EXPORT_NAME)
  get_target_property(headers ${library} INTERFACE_HEADER_SETS)
  set(header_sets "")
  if(headers)
    set(header_sets FILE_SET ${headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development)
  endif()
  install(TARGETS ${library} EXPORT holdfast-${component}
    LIBRARY COMPONENT runtime NAMELINK_COMPONENT development
    ARCHIVE COMPONENT development
    ${header_sets})
  install(EXPORT holdfast-${component} NAMESPACE holdfast:: FILE holdfast-${component}-targets.cmake
    DESTINATION "${package_dir}" COMPONENT development)
endforeach()

# Only the exports of a static build name the client libraries; a shared one keeps them to itself.
set(find_dependencies "")
if(NOT BUILD_SHARED_LIBS)
  foreach(backend IN LISTS backends)
    get_target_property(packages holdfast_${backend} HOLDFAST_FIND_PACKAGES)
    if(packages)
      string(APPEND find_dependencies "set(_holdfast_needs_${backend} \"${packages}\")\n")
    endif()
    # Libraries without a find module are found by pkg-config: then LIBRARIES names its targets.
    get_target_property(modules holdfast_${backend} HOLDFAST_PKGCONFIG_MODULES)
    if(modules AND NOT packages)
      string(APPEND find_dependencies "set(_holdfast_modules_${backend} \"${modules}\")\n")
    endif()
  endforeach()
endif()
list(JOIN backends " " backend_list)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/holdfastConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/cmake/holdfastConfig.cmake" INSTALL_DESTINATION "${package_dir}"
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before 1.0 every minor version may break its users.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/cmake/holdfastConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/cmake/holdfastConfig.cmake" "${PROJECT_BINARY_DIR}/cmake/holdfastConfigVersion.cmake"
  DESTINATION "${package_dir}" COMPONENT development)

include(holdfast_pkgconfig)

if(HOLDFAST_BUILD_CLI AND TARGET holdfast_cli)
  file(RELATIVE_PATH bin_to_lib "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
  set_target_properties(holdfast_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
  install(TARGETS holdfast_cli RUNTIME COMPONENT command)
  # `holdfast bench` opens the raw client it compares a store with, beside the libraries.
  foreach(backend IN LISTS backends)
    if(TARGET holdfast_floor_${backend})
      install(TARGETS holdfast_floor_${backend} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT command)
    endif()
  endforeach()
  install(FILES "${PROJECT_SOURCE_DIR}/cli/man/holdfast.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT command)
  install(FILES "${PROJECT_SOURCE_DIR}/cli/completion/holdfast"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT command)
endif()

include(holdfast_package)
