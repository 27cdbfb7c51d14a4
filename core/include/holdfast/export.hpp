#pragma once

/// Marks what the shared libraries export; everything else is hidden.
#define HOLDFAST_EXPORT [[gnu::visibility("default")]]
