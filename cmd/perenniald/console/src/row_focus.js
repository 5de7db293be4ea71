// The focus stays in a table when the row that has it goes.

import {useLayoutEffect, useRef} from 'preact/hooks';

/**
 * For the element around the rows: `ref`, and what it hears. The row that comes in the place of one that is gone has the focus.
 * @returns {{ref: any, onFocusIn: (event: FocusEvent) => void}}
 */
export function use_row_focus() {
  const around = useRef(/** @type {HTMLElement|null} */ (null));
  const last = useRef({element: /** @type {Element|null} */ (null), index: -1});
  const rows = () => [...around.current.querySelectorAll('[data-row]')];
  useLayoutEffect(() => {
    const {element, index} = last.current;
    if (!around.current || !element || element.isConnected || document.activeElement !== document.body) return;
    const all = rows();
    /** @type {HTMLElement|null|undefined} */ (all[Math.min(index, all.length - 1)]?.querySelector('a, button'))?.focus();
  });
  return {
    ref: around,
    onFocusIn: (event) => {
      const element = /** @type {Element} */ (event.target);
      last.current = {element, index: rows().findIndex((row) => row.contains(element))};
    },
  };
}
