// Groups of jobs that have ended together, of several answers.

/** @typedef {import('./types.js').EndedGroup} EndedGroup */

// As the server has it: jobs of a group end within so long of each other.
const group_gap_ms = 10_000;

/** @param {{ended_at: string}} end */
export const ms_of = (end) => Date.parse(end.ended_at);

/**
 * Adds the groups of a later answer. The first of them may be the rest of one that is there; what else is there is whole by now, if the answer goes
 * back far enough.
 * @param {EndedGroup[]} groups @param {EndedGroup[]} more
 */
export function add_groups(groups, more) {
  const listed = groups.length;
  const seen_back_to = Math.min(...more.map(({oldest}) => ms_of(oldest)));
  for (const group of groups) group.whole ||= ms_of(group.oldest) - seen_back_to > group_gap_ms;
  for (const group of more) {
    const begun = groups.slice(0, listed).findLast(({tube, ended, ended_by}) => tube === group.tube && ended === group.ended && ended_by === group.ended_by);
    if (begun && ms_of(begun.oldest) - ms_of(group.newest) <= group_gap_ms) Object.assign(begun, {jobs: begun.jobs + group.jobs, whole: group.whole, oldest: group.oldest});
    else groups.push(group);
  }
}
