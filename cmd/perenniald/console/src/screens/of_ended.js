// What has ended in all tubes, which is loaded when it is opened.

import '../shared.js';

export {AllEnded} from './all_ended.js';
