-- SPDX-License-Identifier: Apache-2.0
-- Which lines leave a GPU idle for longer, each ordinary step, than with the job's commit before?
select job, site, file, line, function, commits[place] as commit, commits[place - 1] as commit_before,
       intDiv(idle[indexOf(seen, commit)], steps[place]) as idle_ns_a_step,
       intDiv(idle[indexOf(seen, commit_before)], greatest(steps[place - 1], 1)) as idle_ns_before
from (
  select job, site, file, line, function, seen, idle, commits, steps
  from (
    select job, site, any(file) as file, any(line) as line, any(function) as function, groupArray(commit) as seen,
           groupArray(idle_in_commit) as idle
    from (
      select job, site, commit, any(file) as file, any(line) as line, any(function) as function,
             sum(idle_in_steps_ns) as idle_in_commit
      from sites global all inner join (
        select run, commit
        from runs
        where date >= today() - 7 and steps > irregular_steps) as commit_of_run using run
      where date >= today() - 7
      group by job, site, commit)
    group by job, site) as of_lines
  all inner join (
    select job, arrayMap(one -> tupleElement(one, 2), sorted) as commits, arrayMap(one -> tupleElement(one, 3), sorted) as steps
    from (
      select job, arraySort(groupArray((since_ns, commit, ordinary_steps))) as sorted
      from (
        select job, commit, min(begin_ns) as since_ns, sum(steps - irregular_steps) as ordinary_steps
        from runs
        where date >= today() - 7 and steps > irregular_steps
        group by job, commit)
      group by job)) as of_jobs using job)
array join arrayEnumerate(commits) as place
where place > 1 and idle_ns_a_step > idle_ns_before
order by idle_ns_a_step - idle_ns_before desc, job, site
limit 20
