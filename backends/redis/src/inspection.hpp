#pragma once

#include "courier.hpp"
#include "layout.hpp"

#include <holdfast/backend.hpp>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace holdfast::redis {

/// One look at all names with a prefix: finds the keys by SCAN, then asks about each name. Ours are found by the keys
/// beside them; locks that only foreign clients hold by looking like one.
class inspection : public std::enable_shared_from_this<inspection> {
 public:
  /// Asks the server about one name: the answer of the script `describe`.
  using describer = std::function<void(const std::string& name, link::answer told)>;

  inspection(courier& by, const layout& where, std::string prefix, describer describe,
             spi::completion<std::vector<entry>> done);
  void start();

 private:
  void scan(std::size_t server, std::size_t trail, const std::string& cursor);
  void on_page(std::size_t server, std::size_t trail, const reply& page);
  void ask();
  void on_entry(const std::string& name, const reply& said);
  void one_less();
  void fail(const failure& why);

  courier& courier_;
  const std::string prefix_;
  const describer describe_;
  const layout& layout_;
  const std::vector<node_address> servers_;
  const std::vector<layout::trail> trails_;
  spi::completion<std::vector<entry>> done_;

  std::mutex mutex_;  // answers may come on more than one thread
  std::set<std::string> names_;
  std::vector<entry> found_;
  std::size_t left_ = 0;
};

/// What the script `describe` tells; nullopt: nobody holds it or waits for it.
std::optional<entry> entry_of(const std::string& name, const reply& said);

}  // namespace holdfast::redis
