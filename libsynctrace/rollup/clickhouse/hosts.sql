-- SPDX-License-Identifier: Apache-2.0
-- On which hosts are the ranks that others wait for?
select host, sum(others_waited_ns) as waited_for_ns, sum(late_count) as times_late, count() as recordings
from runs
where date >= today() - 7
group by host
having waited_for_ns > 0
order by waited_for_ns desc, host
limit 20
