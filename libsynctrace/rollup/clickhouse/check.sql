-- SPDX-License-Identifier: Apache-2.0
-- Must give no row: of each GPU of a recording, what lines and causes left it idle is what it was idle.
select run, device, sum(idle) as all_idle_ns, sum(caused) as of_causes_ns
from (
  select run, device, sum(idle_ns) as idle, toInt64(0) as caused
  from ranks
  group by run, device
  union all
  select run, device, toInt64(0) as idle, sum(idle_ns) as caused
  from site_window
  where device >= 0
  group by run, device)
group by run, device
having all_idle_ns != of_causes_ns
