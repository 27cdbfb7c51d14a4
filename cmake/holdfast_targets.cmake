# How every target of this project is built: language level, warnings, visibility, where it is put.

find_package(Threads REQUIRED)

# Warnings and -Werror are ours alone: presets switch them on, nothing exports them.
option(HOLDFAST_STRICT "Treat warnings as errors" OFF)
add_library(holdfast_warnings INTERFACE)
target_compile_options(holdfast_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
  $<$<BOOL:${HOLDFAST_STRICT}>:-Werror>)

function(holdfast_configure target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:holdfast_warnings>)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON
    # One directory for all libraries: the core looks for backends beside itself.
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib"
    ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib"
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
endfunction()

# A library users link: holdfast_add_library(holdfast_sqlite ALIAS sqlite SOURCES ... HEADERS_DIR include)
function(holdfast_add_library target)
  cmake_parse_arguments(arg "" "ALIAS" "SOURCES" ${ARGN})
  add_library(${target} ${arg_SOURCES})
  add_library(holdfast::${arg_ALIAS} ALIAS ${target})
  holdfast_configure(${target})
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${arg_ALIAS} VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    INSTALL_RPATH "$ORIGIN")
  set_property(GLOBAL APPEND PROPERTY HOLDFAST_LIBRARIES ${target})
endfunction()

set(HOLDFAST_TEST_SHARDS 0 CACHE STRING
  "Run a test program as so many processes, each with its share of the cases; 0: a process for every case")

# One test program, registered case by case or in shards. holdfast_add_test(name SOURCES ... LIBRARIES ... LABELS ...)
# FIXTURE: of ctest, what must have been set up before. SHARDS: in so many whatever the preset says, for programs whose
# cases share a server.
function(holdfast_add_test name)
  cmake_parse_arguments(arg "" "TIMEOUT;FIXTURE;SHARDS" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  find_package(GTest REQUIRED)
  include(GoogleTest)
  add_executable(${name} ${arg_SOURCES})
  holdfast_configure(${name})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} GTest::gtest GTest::gtest_main)
  if(HOLDFAST_TEST_SHARDS GREATER 0 OR NOT arg_SHARDS)
    set(arg_SHARDS ${HOLDFAST_TEST_SHARDS})
  endif()
  if(arg_SHARDS GREATER 0)
    holdfast_add_shards(${name} ${arg_SHARDS} "${arg_LABELS}" "${arg_FIXTURE}")
    return()
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60)
  # Its PROPERTIES would keep the first label only and lose the timeout: set them where ctest reads the list of tests.
  set(properties "${CMAKE_CURRENT_BINARY_DIR}/${name}_properties.cmake")
  if(arg_FIXTURE)
    set(arg_FIXTURE "FIXTURES_REQUIRED ${arg_FIXTURE}")
  endif()
  file(WRITE "${properties}" "if(${name}_TESTS)
  set_tests_properties(\${${name}_TESTS} PROPERTIES LABELS \"${arg_LABELS}\" TIMEOUT ${arg_TIMEOUT} ${arg_FIXTURE})
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${properties}")
endfunction()

# With a sanitizer the start of a process costs more than most cases.
function(holdfast_add_shards name shards labels fixture)
  math(EXPR last "${shards} - 1")
  foreach(shard RANGE ${last})
    add_test(NAME ${name}.${shard} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(${name}.${shard} PROPERTIES
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}"
      LABELS "${labels}" TIMEOUT 600 FIXTURES_REQUIRED "${fixture}")
  endforeach()
endfunction()
