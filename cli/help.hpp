#pragma once

#include "subcommand.hpp"

#include <span>
#include <string>
#include <string_view>

namespace holdfast::cli {

const subcommand* find_subcommand(std::string_view name);
std::string list_subcommands();  ///< `run, ls, ...`

int print_overview();
/// `holdfast help [CMD]`.
int help(std::span<char* const> words);

}  // namespace holdfast::cli
