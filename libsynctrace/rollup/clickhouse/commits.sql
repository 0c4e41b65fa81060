-- SPDX-License-Identifier: Apache-2.0
-- How long is a GPU idle in an ordinary step, by commit, the oldest first?
select commit, min(begin_ns) as since_ns, intDiv(sum(idle), sum(steps - irregular_steps)) as idle_ns_a_step, count() as recordings
from runs global all left join (
  select run, sum(idle_in_steps_ns) as idle
  from sites
  where date >= today() - 7
  group by run) as idle_of_runs using run
where date >= today() - 7 and steps > irregular_steps
group by commit
order by since_ns, commit
