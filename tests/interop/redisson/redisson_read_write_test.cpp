#include "redisson_test.hpp"
