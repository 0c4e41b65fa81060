// SPDX-License-Identifier: Apache-2.0
#include "findings/gpu_work/repeated_factorisation.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <utility>

#include "base/format_text.h"

namespace synctrace {
namespace {

constexpr Share kLeastFactored = percent(10);  // share of all kernels' time
// A matrix that a step makes anew has kernels there, a tenth as many as its factors at least.
constexpr std::uint64_t kTimesAsMany = 20;

// Six programs: 12 to 35 % of what a solve takes stayed; more with a Cholesky of a small matrix.
constexpr ShareRange kStaysOfSolve = {percent(20), percent(10), percent(40)};

bool is_factorisation(const KernelClass& what) { return what.kind == KernelKind::kFactorisation; }
bool is_matmul(const KernelClass& what) { return what.kind == KernelKind::kMatmul; }

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

// "self.matrix = ..", "self.matrix[i] = ..", "self.matrix += ..".
bool assigns(std::string_view source, const std::string& name) {
  if (!source.starts_with(name)) return false;
  std::string_view rest = source.substr(name.size());
  if (rest.starts_with('[')) rest.remove_prefix(std::min(rest.find(']') + 1, rest.size()));
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  if (!rest.empty() && std::string_view("+-*/@").find(rest.front()) != std::string_view::npos) rest.remove_prefix(1);
  return rest.starts_with('=') && !rest.starts_with("==");
}

// Whether lines that assign it launch kernels again and again.
bool is_made_anew(LaunchedKernels& kernels, const std::string& name, std::uint64_t factored) {
  std::uint64_t launches = 0;
  for (const KernelTime& row : kernels.times().rows) {
    if (number(row.stack) == 0) continue;
    const std::vector<ShownFrame>& stack = kernels.line_of(row.stack).stack;
    if (std::any_of(stack.begin(), stack.end(), [&](const ShownFrame& each) { return assigns(each.source, name); }))
      launches += row.count;
  }
  return launches * kTimesAsMany > factored;
}

}  // namespace

std::string solved_matrix(std::string_view source) {
  const std::size_t call = source.find(".solve(");
  if (call == std::string_view::npos) return {};
  const std::size_t begin = call + std::string_view(".solve(").size();
  std::size_t end = begin;
  while (end < source.size() && is_of_name(source[end])) ++end;
  const std::string_view name = source.substr(begin, end - begin);
  const bool ends = end < source.size() && source[end] == ',';
  return ends && name.find('.') != std::string_view::npos ? std::string(name) : std::string();
}

std::optional<KernelAdvice> factored_once(LaunchedKernels& kernels) {
  if (!kernels.is_most(kernels.times().sum(is_factorisation), kLeastFactored)) return std::nullopt;
  const KernelTime* dearest = nullptr;
  std::uint64_t factored = 0;
  for (const KernelTime& row : kernels.times().rows) {
    if (!is_factorisation(row.what)) continue;
    factored += row.count;
    const bool has_line = number(row.stack) != 0 && !solved_matrix(kernels.line_of(row.stack).source).empty();
    if (has_line && (dearest == nullptr || row.device_ns > dearest->device_ns)) dearest = &row;
  }
  if (dearest == nullptr) return std::nullopt;
  const std::string source = kernels.line_of(dearest->stack).source;
  const std::string matrix = solved_matrix(source);
  if (is_made_anew(kernels, matrix, factored)) return std::nullopt;
  // Products of the same line update what is not factored yet, and stand for all where they are most of them.
  Nanoseconds there_ns = 0;
  Nanoseconds all_ns = 0;
  for (const KernelTime& row : kernels.times().rows) {
    if (!is_matmul(row.what) || number(row.stack) == 0) continue;
    all_ns = add_saturated(all_ns, row.device_ns);
    if (kernels.line_of(row.stack).source == source) there_ns = add_saturated(there_ns, row.device_ns);
  }
  const bool takes_products = ratio(there_ns, all_ns) >= percent(90);
  const auto stays = [takes_products](const KernelClass& what) {
    return is_factorisation(what) || (takes_products && is_matmul(what)) ? kStaysOfSolve : ShareRange{};
  };
  CountedKernels counted = kernels.count(stays);
  if (!kernels.is_worth_it(counted)) return std::nullopt;
  std::string typed;
  if (counted.framework == Framework::kPyTorch)
    typed = format_text("lu, pivots = torch.linalg.lu_factor({}) once; torch.linalg.lu_solve(lu, pivots, b)", matrix);
  if (counted.framework == Framework::kCupy)
    typed = format_text("from cupyx.scipy.linalg import lu_factor, lu_solve; lu = lu_factor({}) once", matrix);
  if (typed.empty()) return std::nullopt;
  std::vector<std::string> lines = {std::move(typed)};
  if (counted.framework == Framework::kCupy) lines.emplace_back("lu_solve(lu, b) in each step");
  return KernelAdvice{&kRepeatedFactorisationRule,
                      {stays, kOtherDigits},
                      format_text("Factor {} once, not in each step", matrix),
                      std::move(lines),
                      std::move(counted.lines)};
}

}  // namespace synctrace
