#pragma once

#include <netinet/in.h>

#include <cstdint>

namespace holdfast::testing {

sockaddr_in loopback(std::uint16_t port);

/// A port of this machine that nobody listens on now.
std::uint16_t free_port();

/// A connection to a port of this machine, whose reads end after some seconds; -1: nobody listens.
int dial(std::uint16_t port);

}  // namespace holdfast::testing
