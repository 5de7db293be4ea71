// The screens about jobs, which are loaded when the first of them is opened.

import '../shared.js';

export {EndedScreen} from './ended.js';
export {JobScreen} from './job.js';
export {Jobs} from './jobs.js';
export {SearchScreen} from './search.js';
export {TubeScreen} from './tube.js';
