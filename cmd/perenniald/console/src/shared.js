// What the first load and the screens that are loaded later have in common. app.js and each file of later screens import this one, so that
// all of it becomes one file: esbuild makes a file for each set of files that use the same things.

import './announce.js';
import './api.js';
import './charts.js';
import './dialogs.js';
import './ended_jobs.js';
import './format.js';
import './frames.js';
import './html.js';
import './icon.js';
import './job_filter.js';
import './keys.js';
import './later.js';
import './live.js';
import './operations.js';
import './parts.js';
import './router.js';
import './row_focus.js';
import './problems.js';
import './screens/tubes.js';
import './spark.js';
import './theme.js';
import './way_back.js';
