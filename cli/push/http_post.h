// SPDX-License-Identifier: Apache-2.0
// One HTTP request, by the system's program curl: TLS, certificates and proxies are what the machine has set up for it.
// Nothing that is secret is among its arguments, where other users would see it. One thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace synctrace::cli {

struct HttpRequest {
  std::string url;                   // printable ASCII
  std::vector<std::string> headers;  // "Name: value", without control characters
  std::string_view body;
  int seconds = 0;  // for all of it
};

struct HttpAnswer {
  int status = 0;       // 0: there was no answer, see `failure`
  std::string body;     // may be cut short
  std::string failure;  // why, in curl's words
  bool can_ask = true;  // false: it is not the server's fault, and no other try helps
};

HttpAnswer http_post(const HttpRequest& request);

}  // namespace synctrace::cli
