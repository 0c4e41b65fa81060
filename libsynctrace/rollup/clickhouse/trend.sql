-- SPDX-License-Identifier: Apache-2.0
-- Day by day, of each job: lines that wait for the GPU (what a gate would judge), waits and the host's time in them.
select job, date, count() as recordings, any(lines) as lines_that_wait, sum(waited) as waits, sum(host_blocked_ns) as blocked_ns
from runs global all left join (
  select job, date, uniqExact(site) as lines
  from sites
  where date >= today() - 7 and waited > 0
  group by job, date) as waits_of_days using job, date
where date >= today() - 7
group by job, date
order by job, date
