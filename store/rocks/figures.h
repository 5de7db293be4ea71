#pragma once

#include "store/rocks/database.h"
#include "store/types/database_figures.h"

// Included by store's own files only.
namespace perennial::store {

// Reads all figures. It takes the lock of the database some twenty times, and so it is called once
// a second. REQUIRES: the database was opened to be written.
DatabaseFigures read_figures(const Database& db);

}  // namespace perennial::store
