#include "cmd/common/tool/named_servers.h"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>
#include <yaml-cpp/yaml.h>

#include "cmd/common/tool/command_words.h"

namespace perennial::tool {
namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

Status wrong(const std::string& path, const YAML::Mark& mark, std::string_view why) {
  if (mark.is_null()) return {StatusCode::InvalidArgument, fmt::format("{}: {}", path, why)};
  return {StatusCode::InvalidArgument, fmt::format("{}:{}: {}", path, mark.line + 1, why)};
}

// A path of the file, as the process can open it.
std::string resolved_path(const std::string& text, const std::string& file) {
  if (text.starts_with("~/")) return environment("HOME") + text.substr(1);
  return (std::filesystem::path(file).parent_path() / text).string();
}

// One server of the file, and where its keys are stored.
class Entry {
 public:
  explicit Entry(const std::string& file) : file_(file) {}

  Status read(const YAML::Node& node, const std::string& name) {
    if (!node.IsMap()) {
      return wrong(file_, node.Mark(),
                   fmt::format("'{}' has no keys, such as \"server: HOST:PORT\"", name));
    }
    std::set<std::string> seen;
    for (const auto& pair : node) {
      const std::string& key = pair.first.Scalar();
      if (!seen.insert(key).second) return wrong(file_, pair.first.Mark(), key + ": set twice");
      if (Status s = set(key, pair.second); !s.ok()) return s;
    }
    if (!has_address_)
      return wrong(file_, node.Mark(), fmt::format("'{}' has no key 'server'", name));
    return {};
  }

  const ServerAddress& server() const { return server_; }

 private:
  Status set(const std::string& key, const YAML::Node& value) {
    if (!value.IsScalar()) return wrong(file_, value.Mark(), key + " is not one value");
    const std::string& text = value.Scalar();
    const std::pair<const char*, std::string*> paths[] = {
        {"ca", &server_.tls.ca},
        {"certificate", &server_.tls.certificate},
        {"key", &server_.tls.key},
        {"token_file", &server_.token_file},
    };
    for (const auto& [name, target] : paths) {
      if (key != name) continue;
      *target = resolved_path(text, file_);
      return {};
    }
    if (key == "tls") return set_switch(key, value, server_.tls.is_on);
    if (key == "insecure_token") return set_switch(key, value, server_.insecure_token);
    if (key != "server") {
      const std::vector<std::string> known = {
          "server", "tls", "ca", "certificate", "key", "token_file", "insecure_token"};
      return wrong(file_, value.Mark(),
                   fmt::format("there is no key '{}'{}", key, suggestion(key, known)));
    }
    has_address_ = true;
    server_.address = text;
    if (!text.starts_with('@')) return {};
    return wrong(file_, value.Mark(), "server: HOST:PORT or unix:PATH, and not another name");
  }

  Status set_switch(const std::string& key, const YAML::Node& value, bool& target) {
    if (YAML::convert<bool>::decode(value, target)) return {};
    return wrong(file_, value.Mark(), key + ": true or false");
  }

  const std::string& file_;
  ServerAddress server_;
  bool has_address_ = false;
};

// What the command line says wins over the file.
ServerAddress with_flags(ServerAddress found, const ServerAddress& flags) {
  found.tls.is_on |= flags.tls.is_on;
  found.insecure_token |= flags.insecure_token;
  found.gets_token = flags.gets_token;
  found.timeout = flags.timeout;
  if (!flags.tls.ca.empty()) found.tls.ca = flags.tls.ca;
  if (!flags.tls.certificate.empty()) found.tls.certificate = flags.tls.certificate;
  if (!flags.tls.key.empty()) found.tls.key = flags.tls.key;
  if (!flags.token_file.empty()) found.token_file = flags.token_file;
  return found;
}

// The file says where commands and tokens go, so nobody else may change it. InvalidArgument: others
// may, or it is no file that can be read at once.
Status check_file(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) {
    return {
        StatusCode::InvalidArgument,
        fmt::format("there is no file {} that can be read, which would say where that is", path)};
  }
  if (!S_ISREG(found.st_mode)) return {StatusCode::InvalidArgument, path + " is not a file"};
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  return {StatusCode::InvalidArgument,
          fmt::format("others may write {}: chmod go-w it, since it says where tokens go", path)};
}

Result<ServerAddress> find(const YAML::Node& servers, const std::string& name,
                           const std::string& path) {
  if (!servers.IsMap())
    return wrong(path, servers.Mark(), "the file has no names of servers with keys below them");
  std::vector<std::string> known;
  std::optional<ServerAddress> found;
  for (const auto& pair : servers) {
    known.push_back(pair.first.Scalar());
    if (known.back() != name) continue;
    if (found) return wrong(path, pair.first.Mark(), fmt::format("'{}' is there twice", name));
    Entry entry(path);
    if (Status s = entry.read(pair.second, name); !s.ok()) return s;
    found = entry.server();
  }
  if (found) return *found;
  return Status(StatusCode::InvalidArgument,
                fmt::format("{} has no server '{}'{}", path, name, suggestion(name, known)));
}

}  // namespace

std::string named_servers_path() {
  std::string folder = environment("XDG_CONFIG_HOME");
  if (folder.empty()) {
    folder = environment("HOME");
    if (folder.empty()) return {};
    folder += "/.config";
  }
  return folder + "/perennial/servers.yaml";
}

Result<ServerAddress> resolve_server(const ServerAddress& server) {
  if (!server.address.starts_with('@')) return server;
  return resolve_server(server, named_servers_path());
}

Result<ServerAddress> resolve_server(const ServerAddress& server, const std::string& path) {
  if (!server.address.starts_with('@')) return server;
  if (Status s = check_file(path); !s.ok()) return std::move(s).with(server.address);
  try {
    Result<ServerAddress> found = find(YAML::LoadFile(path), server.address.substr(1), path);
    if (!found.ok()) return found;
    return with_flags(found.take(), server);
  } catch (const YAML::BadFile&) {
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("{}: there is no file {} that can be read, which would say where that "
                    "is",
                    server.address, path));
  } catch (const YAML::Exception& error) {
    return wrong(path, error.mark, error.msg);
  }
}

}  // namespace perennial::tool
