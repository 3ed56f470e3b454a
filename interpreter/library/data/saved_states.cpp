#include "interpreter/library/data/saved_states.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/values/containers.hpp"
#include "interpreter/values/host.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/execute/checkpoints/checkpoint.hpp"
#include "runtime/execute/session.hpp"

namespace pxl {
namespace {

constexpr std::string_view random_entry = "random";

/// The objects of `data`, by name.
std::vector<std::pair<std::string, Resumable*>> objects_of(const Value& data, const char* where) {
  const auto* dict = data.as<DictObject>();
  if (!dict)
    throw Error(fmt::format("session.{}: data is a dict of batches and replays by name, not {}", where,
                            with_article(data.type_name())))
        .as(codes::type);
  std::vector<std::pair<std::string, Resumable*>> objects;
  for (const auto& [key, value] : dict->items) {
    const std::string* name = key.as_string();
    Resumable* object = as_resumable(value);
    if (!name || name->empty() || *name == random_entry || !object)
      throw Error(fmt::format("session.{}: data has batches and replays by names of their own, got {} for {}", where,
                              with_article(value.type_name()),
                              name ? "`" + *name + "`" : with_article(key.type_name())))
          .as(codes::type);
    objects.emplace_back(*name, object);
  }
  return objects;
}

std::string entry(std::string_view name, std::string_view part = {}) {
  return fmt::format("{}{}{}{}", Session::beside_prefix, name, part.empty() ? "" : ".", part);
}

}  // namespace

std::vector<NamedArray> states_beside(Interpreter& in, const Value& data) {
  if (data.is_none()) return {};
  std::vector<NamedArray> arrays;
  for (const auto& [name, object] : objects_of(data, "save"))
    for (auto& [part, array] : object->saved()) arrays.push_back({entry(name, part), std::move(array)});
  arrays.push_back({entry(random_entry), array_of(host_of(in).random())});
  return arrays;
}

ResumedStates::ResumedStates(Interpreter& in, const std::string& path, const Value& data) {
  if (data.is_none()) return;
  const auto objects = objects_of(data, "restore");
  const std::vector<NamedArray> file = open_checkpoint(path);
  before_.emplace_back([&in, random = host_of(in).random()] { host_of(in).random() = random; });
  try {
    for (const auto& [name, object] : objects) {
      std::vector<std::pair<std::string, Array>> arrays;
      const std::string prefix = entry(name) + ".";
      for (const NamedArray& a : file)
        if (a.name.starts_with(prefix)) {
          (void)a.data.raw();  // what cannot be read fails here
          arrays.emplace_back(a.name.substr(prefix.size()), a.data);
        }
      if (arrays.empty())
        throw Error(fmt::format("session.restore: {} has no state of `{}`", path, name),
                    {"`session.save(path, data = {...})` writes the states of batches and replays"})
            .as(codes::session);
      before_.push_back(dynamic_cast<Object&>(*object).state());
      object->resume(in, arrays);
    }
    const auto random = std::ranges::find(file, entry(random_entry), &NamedArray::name);
    if (random != file.end()) resume_random(host_of(in).random(), random->data, "session.restore");
  } catch (...) {
    take_back();
    throw;
  }
}

ResumedStates::~ResumedStates() { take_back(); }

void ResumedStates::take_back() {
  for (const std::function<void()>& restore : before_) restore();
  before_.clear();
}

}  // namespace pxl
