-- SPDX-License-Identifier: Apache-2.0
-- Day by day, of each job: lines that wait for the GPU (what a gate would judge), waits and the host's time in them.
with waits as (
  select job, date, count(distinct site) as lines_that_wait
  from sites
  where waited > 0
  group by job, date)
select job, date, count(*) as recordings, any_value(coalesce(lines_that_wait, 0)) as lines_that_wait, sum(waited) as waits,
       sum(host_blocked_ns) as blocked_ns
from runs left join waits using (job, date)
where date >= coalesce(getvariable('since')::date, current_date - 7)
group by job, date
order by job, date;
