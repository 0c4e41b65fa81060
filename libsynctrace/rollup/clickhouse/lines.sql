-- SPDX-License-Identifier: Apache-2.0
-- Which lines left GPUs idle longest? The edges of recordings are nobody's line.
select site, any(if(rule = '', name, rule)) as what, any(file) as file, any(line) as line, any(function) as function,
       sum(idle_ns) as lost_ns, round(sum(idle_ns) / 3.6e12, 6) as idle_gpu_hours, uniqExact(run) as recordings
from sites
where date >= today() - 7 and cause not in ('startup', 'shutdown', 'capture-edge') and idle_ns > 0
group by site
order by lost_ns desc, site
limit 20
