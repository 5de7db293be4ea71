// Who holds jobs over HTTP: a part of several screens, which is loaded for those who may see it.

import '../shared.js';

export {Leases, ask_take_back} from '../leases.js';
