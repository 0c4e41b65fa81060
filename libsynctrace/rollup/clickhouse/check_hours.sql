-- SPDX-License-Identifier: Apache-2.0
-- Must give no row: the hourly sums are those of the minutes. A server that was killed while it inserted may have left its hours without
-- those; docs/fleet.md says how they are made anew.
select job, date, site, sum(idle - idle_of_hours) as missing_idle_ns, sum(blocked - blocked_of_hours) as missing_blocked_ns
from (
  select job, date, site, sum(idle_ns) as idle, sum(host_blocked_ns) as blocked, toInt64(0) as idle_of_hours,
         toInt64(0) as blocked_of_hours
  from site_window
  group by job, date, site
  union all
  select job, date, site, toInt64(0) as idle, toInt64(0) as blocked, sum(idle_ns) as idle_of_hours,
         sum(host_blocked_ns) as blocked_of_hours
  from site_hours
  group by job, date, site)
group by job, date, site
having missing_idle_ns != 0 or missing_blocked_ns != 0
