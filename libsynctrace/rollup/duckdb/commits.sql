-- SPDX-License-Identifier: Apache-2.0
-- How long is a GPU idle in an ordinary step, by commit, the oldest first?
with idle as (
  select run, sum(idle_in_steps_ns) as idle_ns
  from sites
  group by run)
select commit, min(begin_ns) as since_ns, sum(coalesce(idle_ns, 0)) // sum(steps - irregular_steps) as idle_ns_a_step,
       count(*) as recordings
from runs left join idle using (run)
where date >= coalesce(getvariable('since')::date, current_date - 7) and steps > irregular_steps
group by commit
order by since_ns, commit;
