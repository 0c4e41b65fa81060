-- SPDX-License-Identifier: Apache-2.0
-- Which lines leave a GPU idle for longer, each ordinary step, than with the job's commit before?
with commits as (
  select job, commit, min(begin_ns) as since_ns, sum(steps - irregular_steps) as steps,
         row_number() over (partition by job order by min(begin_ns), commit) as place
  from runs
  where date >= coalesce(getvariable('since')::date, current_date - 7) and steps > irregular_steps
  group by job, commit),
lines as (
  select job, commit, site, any_value(file) as file, any_value(line) as line, any_value(function) as function,
         sum(idle_in_steps_ns) as idle_ns
  from sites join runs using (job, date, rank, run)
  where date >= coalesce(getvariable('since')::date, current_date - 7) and steps > irregular_steps
  group by job, commit, site)
select now.job, now.site, now.file, now.line, now.function, now.commit, since.commit as commit_before,
       now.idle_ns // made.steps as idle_ns_a_step, coalesce(past.idle_ns, 0) // since.steps as idle_ns_before
from lines now
     join commits made using (job, commit)
     join commits since on since.job = now.job and since.place = made.place - 1
     left join lines past on past.job = now.job and past.commit = since.commit and past.site = now.site
where idle_ns_a_step > idle_ns_before
order by idle_ns_a_step - idle_ns_before desc, now.job, now.site
limit 20;
