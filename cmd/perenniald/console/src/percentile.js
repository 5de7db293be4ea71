// Percentiles of a histogram, whose buckets say only between which times a value is.

/** @typedef {import('./types.js').Times} Times */

/** @param {number[]} counts */
export const total_of = (counts) => counts.reduce((sum, each) => sum + each, 0);

/**
 * The time that this part of all values does not exceed, as if the values of a bucket were spread evenly in it. The sum bounds it: the values at and
 * above a rank cannot be so long that all together exceed the sum, nor those at and below it so short that they fall behind it. So few values, which
 * are seldom spread evenly, have no percentile above the largest that can have been, and a single value has its own.
 * @param {number[]} bounds The longest time of each bucket.
 * @param {Times} times One more count than bounds: what took longer than the last bound.
 * @param {number} part 0.99 is p99.
 * @returns {{seconds: number, is_longer: boolean}|null} Longer: it is beyond the last bound. Null: there are no values.
 */
export function percentile(bounds, {counts, sum_seconds}, part) {
  const wanted = total_of(counts) * part;
  if (!wanted) return null;
  const lower = (bucket) => (bucket ? bounds[bucket - 1] : 0);
  let below = 0;
  for (let bucket = 0; bucket < bounds.length; ++bucket) {
    const here = counts[bucket];
    if (below + here < wanted) {
      below += here;
      continue;
    }
    // Which of the values of this bucket it is, from 1 on. A product such as 0.07 * 100 is a little above its number.
    const rank = Math.max(1, Math.ceil(wanted - below - 1e-9));
    const above_least = counts.reduce((rest, each, index) => rest - each * lower(index), sum_seconds);
    const below_most = counts.at(-1) ? Infinity : bounds.reduce((sum, bound, index) => sum + counts[index] * bound, 0) - sum_seconds;
    const most = lower(bucket) + Math.max(0, above_least) / (here - rank + 1);
    const least = bounds[bucket] - Math.max(0, below_most) / rank;
    const even = lower(bucket) + (bounds[bucket] - lower(bucket)) * ((wanted - below) / here);
    return {seconds: Math.min(Math.max(even, least), most), is_longer: false};
  }
  return {seconds: bounds.at(-1), is_longer: true};
}

/** The counts of several histograms in one. @param {Times[]} all @returns {number[]} */
export const added = (all) => all[0].counts.map((_, bucket) => all.reduce((sum, {counts}) => sum + counts[bucket], 0));
