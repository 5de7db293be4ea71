// Percentiles of a histogram, whose buckets say only between which times a value is.

/** @typedef {import('./types.js').Times} Times */

/** @param {number[]} counts */
export const total_of = (counts) => counts.reduce((sum, each) => sum + each, 0);

/**
 * The time that this part of all values does not exceed, as if the values of a bucket were spread evenly in it.
 * @param {number[]} bounds The longest time of each bucket.
 * @param {number[]} counts One more: what took longer than the last bound.
 * @param {number} part 0.99 is p99.
 * @returns {{seconds: number, is_longer: boolean}|null} Longer: it is beyond the last bound. Null: there are no values.
 */
export function percentile(bounds, counts, part) {
  const wanted = total_of(counts) * part;
  if (!wanted) return null;
  let below = 0;
  for (let bucket = 0; bucket < bounds.length; ++bucket) {
    if (below + counts[bucket] >= wanted) {
      const from = bucket ? bounds[bucket - 1] : 0;
      return {seconds: from + (bounds[bucket] - from) * ((wanted - below) / counts[bucket]), is_longer: false};
    }
    below += counts[bucket];
  }
  return {seconds: bounds.at(-1), is_longer: true};
}

/** The counts of several histograms in one. @param {Times[]} all @returns {number[]} */
export const added = (all) => all[0].counts.map((_, bucket) => all.reduce((sum, {counts}) => sum + counts[bucket], 0));
