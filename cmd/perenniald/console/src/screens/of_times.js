// How long jobs waited and ran: the last part of the first screen, which is loaded when the rest is there.

import '../shared.js';

export {WorkTimes} from '../histogram.js';
