#pragma once

namespace holdfast::bench {

/// `holdfast bench`: measures stores side by side with what their raw clients can do (docs/bench.md).
///
/// argv[0] is "bench". Returns the exit code: 0; 1 when an update was lost, a measurement failed or, with --check, a
/// goal was missed; 64 for usage; 69 when a store cannot be reached; 130 when interrupted.
///
/// Requires: the process has one thread and no client yet. Every measurement runs in a forked child.
int bench_main(int argc, char** argv);

}  // namespace holdfast::bench
