-- SPDX-License-Identifier: Apache-2.0
-- Which jobs have most idle GPU hours?
select job, sum(idle_ns) as lost_ns, sum(window_ns) as gpu_ns, round(sum(idle_ns) / 3.6e12, 6) as idle_gpu_hours,
       round(sum(window_ns) / 3.6e12, 6) as gpu_hours
from ranks
where date >= today() - 7
group by job
order by lost_ns desc, job
limit 20
