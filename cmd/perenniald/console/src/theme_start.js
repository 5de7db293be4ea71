// Runs before anything is painted, so that a page whose theme was chosen is never seen in the other one. It is a file of its own, because no script
// may stand in the page itself. theme.js writes what this reads.

try {
  const theme = localStorage.getItem('perennial-theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // The browser is told to keep nothing.
}
