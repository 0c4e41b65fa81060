// SPDX-License-Identifier: Apache-2.0
#include "push/clickhouse_server.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/digest.h"
#include "base/format_text.h"
#include "base/shown_text.h"
#include "files/whole_file.h"
#include "messages.h"

namespace synctrace::cli {
namespace {

constexpr std::size_t kMostShown = 300;  // bytes of what a server says
constexpr int kUnknownTable = 60;
constexpr int kUnknownDatabase = 81;

std::string encoded(std::string_view text) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  std::string result;
  for (const char c : text) {
    if (kPlain.find(c) != std::string_view::npos)
      result += c;
    else
      append_text(result, "%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return result;
}

// Half a second, then twice as long each time, up to eight.
void wait_before(int try_number) {
  std::this_thread::sleep_for(std::chrono::milliseconds(250 << std::min(try_number, 5)));
}

bool is_gateway_trouble(int status) { return status == 429 || status == 502 || status == 503 || status == 504; }

bool is_about_credentials(int status, int code) {
  constexpr int kUnknownUser = 192;
  constexpr int kWrongPassword = 193;
  constexpr int kRequired = 194;
  constexpr int kFailed = 516;
  return status == 401 || status == 403 || code == kUnknownUser || code == kWrongPassword || code == kRequired ||
         code == kFailed;
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

}  // namespace

std::optional<Error> take_url(const std::string& text, ServerAddress& address) {
  const std::size_t scheme = text.starts_with("http://") ? 7 : text.starts_with("https://") ? 8 : 0;
  const std::string rest = text.substr(scheme);
  if (rest.find('@') != std::string::npos)
    return Error{
        "--clickhouse: no user and password in the address, where others see them; set "
        "SYNCTRACE_CLICKHOUSE_USER and SYNCTRACE_CLICKHOUSE_PASSWORD, or use --credentials FILE."};
  const bool is_plain = std::all_of(rest.begin(), rest.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (scheme == 0 || rest.empty() || rest.front() == '/' || !is_plain || rest.find_first_of("?#") != std::string::npos)
    return Error{"--clickhouse: " + printable(text) + " is no address; write http://HOST:8123 or https://HOST:8443."};
  address.url = text.substr(0, text.find_last_not_of('/') + 1);
  return std::nullopt;
}

std::optional<Error> take_credentials(const std::string& file, ServerAddress& address) {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (file.empty()) {
    address.user = variable("SYNCTRACE_CLICKHOUSE_USER");
    address.password = variable("SYNCTRACE_CLICKHOUSE_PASSWORD");
  } else {
    constexpr std::uint64_t kMostBytes = 4096;
    struct stat info {};
    if (stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) && (info.st_mode & 077) != 0)
      return Error{file + ": others on this machine can read this --credentials file; chmod 600 it."};
    Result<std::string> content = read_whole_file(file, kMostBytes);
    if (!content) return content.error();
    const std::string& text = content.value();
    const std::size_t end = text.find('\n');
    if (end == std::string::npos) return Error{file + ": --credentials wants two lines, the user and the password."};
    address.user = text.substr(0, end);
    address.password = text.substr(end + 1, text.find('\n', end + 1) - end - 1);
  }
  if (has_control(address.user) || has_control(address.password))
    return Error{"a user or password with control characters cannot be sent; check " +
                 (file.empty() ? std::string("SYNCTRACE_CLICKHOUSE_USER and SYNCTRACE_CLICKHOUSE_PASSWORD") : file) +
                 "."};
  return std::nullopt;
}

ClickhouseServer::Attempt ClickhouseServer::post(const std::string& parameters, std::string_view body) const {
  HttpRequest request;
  request.url = address_.url + "/?database=" + encoded(address_.database) + parameters;
  request.body = body;
  request.seconds = address_.seconds;
  if (!address_.user.empty()) {
    request.headers.push_back("X-ClickHouse-User: " + address_.user);
    if (!address_.password.empty()) request.headers.push_back("X-ClickHouse-Key: " + address_.password);
  }
  HttpAnswer answer = http_post(request);
  if (answer.status == 200) return {std::move(answer.body), std::nullopt, false};
  if (!answer.can_ask) return {{}, Error{answer.failure}, false};
  const std::string from = " from " + address_.url;
  if (answer.status == 0) return {{}, Error{"no answer" + from + " (" + answer.failure + ")"}, true};

  const int code = exception_code(answer.body).value_or(0);
  if (is_about_credentials(answer.status, code))
    return {{},
            Error{address_.url + " does not let this user in; set SYNCTRACE_CLICKHOUSE_USER and "
                                 "SYNCTRACE_CLICKHOUSE_PASSWORD, or use --credentials FILE"},
            false};
  if (code == kUnknownTable || code == kUnknownDatabase)
    return {{},
            Error{address_.url + " has no such tables in its database '" + address_.database +
                  "'; make them with schema.sql of share/synctrace/clickhouse, or choose another --database"},
            false};
  const std::string said = printable(answer.body.substr(0, std::min(answer.body.find('\n'), kMostShown)));
  return {{},
          Error{format_text("{} answers {}: {}", address_.url, answer.status, said.empty() ? "nothing more" : said)},
          is_passing(code) || is_gateway_trouble(answer.status)};
}

Result<std::string> ClickhouseServer::ask(const std::string& query) const {
  for (int one = 1;; ++one) {
    Attempt attempt = post("&wait_end_of_query=1", query);
    if (!attempt.error) return std::move(attempt.body);
    if (!attempt.may_help_again || one >= address_.tries) return *attempt.error;
    wait_before(one);
  }
}

Result<std::vector<PresentPiece>> ClickhouseServer::present(std::string_view table,
                                                            std::span<const std::uint64_t> runs) const {
  const Result<std::string> answer = ask(present_statement(table, runs));
  if (!answer) return answer.error();
  auto pieces = present_pieces(answer.value());
  if (!pieces) return Error{address_.url + ": " + pieces.error().message + "; is it another server?"};
  return pieces;
}

// A request that was cut off may still be at work: what the server has is known once it is not.
std::optional<Error> ClickhouseServer::wait_for_end_of(const std::string& query_id) const {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(address_.seconds);
  for (int one = 1;; ++one) {
    const auto answer =
        ask("select count() from system.processes where query_id = '" + query_id + "' format TabSeparated");
    if (!answer) return answer.error();
    if (answer.value() == "0\n") return std::nullopt;
    if (std::chrono::steady_clock::now() > end)
      return Error{address_.url + " is still busy with an insert that was cut off; try again later"};
    wait_before(one);
  }
}

std::optional<Error> ClickhouseServer::insert(std::string_view table, std::span<const Column> columns,
                                              std::vector<PlacedPiece>& pieces) const {
  const std::string statement = insert_statement(table, columns);
  for (int one = 1; !pieces.empty(); ++one) {
    const std::string block = native_block(columns, pieces);
    Digest digest;
    digest.add(table);
    digest.add(block);
    const std::string query_id = "synctrace-" + digest.hex();
    // A shard must have the rows before the server says so. Old servers do not know the setting's newer name.
    const Attempt attempt =
        post("&insert_distributed_sync=1&query_id=" + query_id + "&query=" + encoded(statement), block);
    if (!attempt.error) return std::nullopt;
    if (!attempt.may_help_again || one >= address_.tries) return attempt.error;
    say::debug("synctrace push", attempt.error->message + "; trying again");
    wait_before(one);
    if (auto error = wait_for_end_of(query_id)) return error;
    std::vector<std::uint64_t> runs;
    for (const PlacedPiece& piece : pieces) runs.push_back(piece.piece.id().run);
    const auto there = present(table, runs);
    if (!there) return there.error();
    std::erase_if(pieces, [&](const PlacedPiece& piece) {
      return std::any_of(there.value().begin(), there.value().end(),
                         [&](const PresentPiece& known) { return known.id == piece.piece.id(); });
    });
  }
  return std::nullopt;
}

}  // namespace synctrace::cli
