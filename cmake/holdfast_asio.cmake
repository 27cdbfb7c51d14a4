# holdfast_asio: standalone Asio, for the programs of ours that use holdfast/asio.hpp. The libraries do not.
include_guard(GLOBAL)

option(HOLDFAST_ASIO "Build the tests and examples of holdfast/asio.hpp; needs standalone Asio" ON)
if(NOT HOLDFAST_ASIO)
  return()
endif()

find_path(ASIO_INCLUDE_DIR asio.hpp)
if(NOT ASIO_INCLUDE_DIR)
  message(FATAL_ERROR "asio.hpp is missing: install libasio-dev, or configure with -DHOLDFAST_ASIO=OFF")
endif()
add_library(holdfast_asio INTERFACE)
target_include_directories(holdfast_asio SYSTEM INTERFACE "${ASIO_INCLUDE_DIR}")
# Asio 1.22 knows coroutines only in the compilers of its day; clang 19 is not among them.
target_compile_definitions(holdfast_asio INTERFACE ASIO_HAS_CO_AWAIT ASIO_HAS_STD_COROUTINE)
