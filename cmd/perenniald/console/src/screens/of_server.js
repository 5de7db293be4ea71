// The screens about the server and its clients, and those before there is anything else to show. They are loaded when the first of them is
// opened.

import '../shared.js';

export {Connections} from './connections.js';
export {ServerScreen} from './server.js';
export {SignIn} from './sign_in.js';
export {Waiting} from './waiting.js';
