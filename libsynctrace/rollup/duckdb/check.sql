-- SPDX-License-Identifier: Apache-2.0
-- Must give no row: of each GPU of a recording, what lines and causes left it idle is what it was idle.
with causes as (
  select run, device, sum(idle_ns) as of_causes_ns
  from site_window
  where device >= 0
  group by run, device)
select run, device, idle_ns, coalesce(of_causes_ns, 0) as of_causes_ns
from ranks full join causes using (run, device)
where idle_ns is distinct from coalesce(of_causes_ns, 0);
