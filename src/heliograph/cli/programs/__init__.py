"""These commands start something or check it: servers, workers, migrations, `doctor`."""
