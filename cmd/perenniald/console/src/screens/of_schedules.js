// Jobs at a time, again and again.

import '../shared.js';

export {ScheduleScreen} from './schedule.js';
export {Schedules} from './schedules.js';
