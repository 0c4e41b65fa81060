-- SPDX-License-Identifier: Apache-2.0
-- Which lines left GPUs idle longest? The edges of recordings are nobody's line.
select site, any_value(if(rule = '', name, rule)) as what, any_value(file) as file, any_value(line) as line,
       any_value(function) as function, sum(idle_ns) as lost_ns, round(sum(idle_ns) / 3.6e12, 6) as idle_gpu_hours,
       count(distinct run) as recordings
from sites
where date >= coalesce(getvariable('since')::date, current_date - 7)
      and cause not in ('startup', 'shutdown', 'capture-edge') and idle_ns > 0
group by site
order by lost_ns desc, site
limit 20;
