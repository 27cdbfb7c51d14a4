#pragma once

/// Distributed locks for C++20, on the store you already run. One include for all of it but the Asio glue
/// (holdfast/asio.hpp) and the backend interface (holdfast/backend.hpp).

#include <holdfast/cell.hpp>
#include <holdfast/client.hpp>
#include <holdfast/counting_semaphore.hpp>
#include <holdfast/error.hpp>
#include <holdfast/fence.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/latch.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/multi_mutex.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/operation.hpp>
#include <holdfast/options.hpp>
#include <holdfast/permit_semaphore.hpp>
#include <holdfast/quorum_mutex.hpp>
#include <holdfast/recursive_mutex.hpp>
#include <holdfast/result.hpp>
#include <holdfast/shared_mutex.hpp>
#include <holdfast/stats.hpp>
#include <holdfast/striped_mutex.hpp>
#include <holdfast/token.hpp>
#include <holdfast/version.hpp>
