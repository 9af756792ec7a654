// SPDX-License-Identifier: GPL-3.0-or-later
// share.cc - divide items among nodes of unequal speed, from C++.
//     c++ share.cc $(pkg-config --cflags --libs hetpart)
#include <cmath>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <vector>

#include <hetpart.h>

using Cost = std::unique_ptr<hetpart_cost, decltype(&hetpart_cost_free)>;
using Plan = std::unique_ptr<hetpart_plan, decltype(&hetpart_plan_free)>;

// Return the time of a number of items. It must not throw, because exceptions cannot pass through the library.
static double seconds(void *, uint64_t items)
{
  return 1e-6 * std::pow(static_cast<double>(items), 1.5);
}

static void check(hetpart_status status, const hetpart_err &err)
{
  if (status != HETPART_OK)
    throw std::runtime_error(err.text);
}

static Plan divide(uint64_t items, const std::vector<double> &speeds)
{
  hetpart_err err;
  hetpart_cost *cost;
  hetpart_plan *plan;

  check(hetpart_cost_callback(&cost, seconds, nullptr, true, 1, &err), err);
  Cost keep(cost, hetpart_cost_free);
  check(hetpart_share_create(&plan, items, speeds.data(), speeds.size(), cost, nullptr, &err), err);
  return Plan(plan, hetpart_plan_free);
}

int main()
{
  try {
    Plan plan = divide(100000, { 1, 2, 4 });
    for (size_t i = 0; i < hetpart_plan_nprocs(plan.get()); i++)
      std::cout << i << ' ' << hetpart_plan_share(plan.get(), i) << '\n';
    divide(10, { 1, -1 });
  } catch (const std::exception &problem) {
    std::cout << "refused: " << problem.what() << '\n';
    return 0;
  }
  return 1;
}
